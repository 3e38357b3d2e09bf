"""Judges of meaning: does a short query state what a declaration states?"""
