# SPDX-License-Identifier: Apache-2.0
"""Answers something that is no JSON object."""

import os

os.read(3, 65536)
os.write(3, b"hello\n")
os.read(3, 65536)
