"""Where a visitor comes from, for limits that the visitors of one address share."""

from __future__ import annotations

import ipaddress
import os

import streamlit as st

#: Environment variable of uvicorn, the server below Streamlit: addresses and networks
#: of the proxies whose header X-Forwarded-For it believes.
PROXIES = "FORWARDED_ALLOW_IPS"


def address() -> str:
    """The visitor's address, or that of the proxy before it if none is configured.

    Of an IPv6 address it is the network: one machine may have all addresses of it.
    Unconfigured, uvicorn believes the header from this machine. It may have been passed
    on as a visitor wrote it: all who send it share one address then.
    """
    if PROXIES not in os.environ and "X-Forwarded-For" in st.context.headers:
        return "behind a proxy"
    text = st.context.ip_address or "this machine"
    try:
        known = ipaddress.ip_address(text)
    except ValueError:
        return text[:50]
    if known.version == 4:
        return text
    return str(ipaddress.ip_network((known, 64), strict=False))
