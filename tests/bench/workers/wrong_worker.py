# SPDX-License-Identifier: Apache-2.0
"""One element of its result is wrong."""

from fake import Honest, serve


class Wrong(Honest):
    def run(self):
        super().run()
        self.result[-1] += 0.5


serve(Wrong)
