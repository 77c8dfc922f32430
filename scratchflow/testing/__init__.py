"""Fakes and makers for tests, shipped so that they stay true to what they stand for."""
