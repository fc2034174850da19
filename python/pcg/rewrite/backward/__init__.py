"""Splitting the backward part of a training step: what makes input gradients, and what makes weight gradients."""
