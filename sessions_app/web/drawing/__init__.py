"""Drawings of a session, worked out as numbers and words that templates write down."""
