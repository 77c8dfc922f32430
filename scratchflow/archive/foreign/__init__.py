"""Archives that other programs wrote, and exports of our own."""
