# SPDX-License-Identifier: Apache-2.0
"""Dies by a signal when it is to run, with a last word."""

import os
import signal

from fake import Honest, serve


class Crash(Honest):
    def run(self):
        print("out of luck", flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)


serve(Crash)
