"""Keys, seals and blind terms. The only room that imports `cryptography`; only the store opens it."""
