# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports of unblinded studies: uploading their documents, making and showing them."""
