"""Which addresses may be fetched: those of the public internet."""

from __future__ import annotations

import ipaddress

from perspective_rag import RetrievalError

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# Forms of IPv6 that stand for an address of IPv4: its bits, counted from the right.
_EMBEDDING = (
    (ipaddress.IPv6Network("64:ff9b::/96"), 0),  # NAT64 (RFC 6052)
    (ipaddress.IPv6Network("2002::/16"), 80),  # 6to4 (RFC 3056)
    (ipaddress.IPv6Network("::ffff:0:0/96"), 0),  # mapped
    (ipaddress.IPv6Network("::/96"), 0),  # compatible
    (ipaddress.IPv6Network("::ffff:0:0:0/96"), 0),  # translated (SIIT)
)
# NAT64 inside a site, and Teredo: what they reach cannot be told from the address.
_REFUSED = (ipaddress.IPv6Network("64:ff9b:1::/48"), ipaddress.IPv6Network("2001::/32"))


class PageRefused(RetrievalError):
    """A page that is not fetched or not read; trying again would give the same."""


def is_public(text: str) -> bool:
    """False for addresses of private networks, of this machine, of many machines at once, and for
    those of IPv6 that stand for such an address of IPv4.
    """
    address: _Address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        if any(address in network for network in _REFUSED):
            return False
        for network, bits in _EMBEDDING:
            if address in network:
                address = ipaddress.IPv4Address((int(address) >> bits) & 0xFFFFFFFF)
                break
    return address.is_global and not address.is_multicast and not address.is_reserved
