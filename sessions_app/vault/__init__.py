"""Keys, seals and blind terms. Only this room imports `cryptography`; only the store opens it."""
