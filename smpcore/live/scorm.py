"""A page as a package for a learning platform: SCORM 1.2."""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from xml.etree import ElementTree

_NAMESPACES = {
    "xmlns": "http://www.imsproject.org/xsd/imscp_rootv1p1p2",
    "xmlns:adlcp": "http://www.adlnet.org/xsd/adlcp_rootv1p2",
}
#: What no XML may hold.
_CONTROLS = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def scorm_package(title: str, page: bytes) -> bytes:
    """Put a page that reports score and completion into a SCORM 1.2 package.

    Parameters
    ----------
    title : str
        What the platform calls it.
    page : bytes
        HTML of one file.

    Returns
    -------
    bytes
        A zip file with its manifest.
    """
    key = hashlib.blake2b(page, digest_size=8).hexdigest()
    root = ElementTree.Element(
        "manifest", {"identifier": f"spe-{key}", "version": "1.0", **_NAMESPACES}
    )

    def add(parent: ElementTree.Element, tag: str, text: str = "", **more: str):
        child = ElementTree.SubElement(parent, tag, more)
        child.text = _CONTROLS.sub("", text) or None
        return child

    metadata = add(root, "metadata")
    add(metadata, "schema", "ADL SCORM")
    add(metadata, "schemaversion", "1.2")
    organizations = add(root, "organizations", default="lesson")
    organization = add(organizations, "organization", identifier="lesson")
    add(organization, "title", title)
    item = add(organization, "item", identifier="item", identifierref="page")
    add(item, "title", title)
    what = {"identifier": "page", "type": "webcontent", "href": "index.html"}
    page_entry = add(add(root, "resources"), "resource", **what)
    page_entry.set("adlcp:scormtype", "sco")
    add(page_entry, "file", href="index.html")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        manifest = ElementTree.tostring(root, "utf-8", xml_declaration=True)
        file.writestr("imsmanifest.xml", manifest)
        file.writestr("index.html", page)
    return packed.getvalue()
