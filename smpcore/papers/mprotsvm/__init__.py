"""Aiolli, Sperduti: Multi-prototype Support Vector Machine. IJCAI 2003."""
