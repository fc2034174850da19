"""From a placed program to what one device runs."""
