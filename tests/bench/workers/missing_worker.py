# SPDX-License-Identifier: Apache-2.0
"""Needs a package that nobody has."""

from fake import serve


def make(threads):
    import fovea_no_such_package  # noqa: F401

    return threads


serve(make)
