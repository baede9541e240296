# SPDX-License-Identifier: Apache-2.0
"""Has a reason not to take part."""

from fake import Cannot, Honest, serve


class Unable(Honest):
    def prepare(self, case):
        raise Cannot("only works on Sundays")


serve(Unable)
