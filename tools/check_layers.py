"""The layer rule: a folder of src/ includes only what the table in ARCHITECTURE.md lets it.

A folder may include itself, the folders in its last column, and what these may include in turn. Headers of folders
that are installed include only headers that are installed too, and no private dependency.
"""

import os
import re

import source_tree

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
ROW = re.compile(r"^\| *`(\w+)/` *\|.*\| *([^|]*?) *\|[ \t]*$", re.MULTILINE)
EVERYTHING = "everything above"
PRIVATE_HEADERS = ("nlohmann/", "pcre2", "CLI/")


def read_table(architecture):
    """Folder -> set of folders that it may include, itself among them."""
    allowed = {}
    for folder, cell in ROW.findall(architecture):
        allowed[folder] = {folder}
        direct = list(allowed) if cell == EVERYTHING else re.findall(r"`(\w+)`", cell)
        for below in direct:
            if below not in allowed:
                raise ValueError(f"ARCHITECTURE.md: {folder} may include {below}, which has no row above it")
            allowed[folder] |= allowed[below]
    if not allowed:
        raise ValueError("ARCHITECTURE.md: no layer table found")
    return allowed


def installed_folders(install_cmake, name="PUBLIC_FOLDERS"):
    found = re.search(rf"set\({name} ([^)]*)\)", install_cmake)
    return set(found[1].split()) if found else set()


def offences_of(path, text, allowed, installed, private=()):
    folder = path.split("/")[1]
    if folder not in allowed:
        yield f"{path}: its folder has no row in the layer table of ARCHITECTURE.md"
        return
    public = path.endswith(".h") and folder in installed and os.path.dirname(path[4:]) not in private
    for match in INCLUDE.finditer(text):
        where = f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
        quoted, system = match.groups()
        if system is not None:
            if public and system.startswith(PRIVATE_HEADERS):
                yield f"{where}: <{system}> in an installed header; include it in the .cpp"
            continue
        parts = quoted.split("/")
        if parts[0] != "lamella" or len(parts) < 3:
            yield f'{where}: "{quoted}" is not of the form "lamella/<folder>/<file>"'
        elif parts[1] not in allowed[folder]:
            yield f"{where}: {folder} may not include {parts[1]} ({quoted})"
        elif public and (parts[1] not in installed or "/".join(parts[1:-1]) in private):
            yield f"{where}: an installed header includes {quoted}, which is not installed"


def check(root):
    allowed = read_table(source_tree.read(root, "ARCHITECTURE.md"))
    install_cmake = source_tree.read(root, "cmake/install.cmake")
    installed, private = installed_folders(install_cmake), installed_folders(install_cmake, "PRIVATE_FOLDERS")
    offences = []
    for path in source_tree.files(root, source_tree.CPP):
        if path.startswith("src/"):
            offences += offences_of(path, source_tree.read(root, path), allowed, installed, private)
    return offences
