# SPDX-License-Identifier: Apache-2.0
"""Throws in its second case, and lives on."""

from fake import Honest, serve


class Throw(Honest):
    def prepare(self, case):
        if case.variant == "causal":
            raise ValueError("no causal today\nsecond line")
        return super().prepare(case)


serve(Throw)
