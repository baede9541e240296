# SPDX-License-Identifier: Apache-2.0
"""Does everything right."""

from fake import Honest, serve

serve(Honest)
