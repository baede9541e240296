# SPDX-License-Identifier: Apache-2.0
"""Never answers when it is to run."""

import time

from fake import Honest, serve


class Hang(Honest):
    def run(self):
        time.sleep(3600)


serve(Hang)
