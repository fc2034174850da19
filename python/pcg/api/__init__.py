"""What a user calls: `pcg.compile`, and programs on several meshes."""
