"""The programs: pcg-opt, pcg-run, and the generators of docs and IRDL."""
