"""Keeps the collections that tests need of the archive that has them all: unpack.py ARCHIVE FOLDER"""

import sys
import zipfile

WANTED = ("ansible_collections/community/proxmox/",)

with zipfile.ZipFile(sys.argv[1]) as archive:
    names = [name for name in archive.namelist() if name.startswith(WANTED)]
    if not names:
        sys.exit(f"{sys.argv[1]} has none of {', '.join(WANTED)}")
    archive.extractall(sys.argv[2], names)
