# SPDX-License-Identifier: Apache-2.0
"""Does everything right, too."""

from fake import Honest, serve


class Second(Honest):
    name = "second"


serve(Second)
