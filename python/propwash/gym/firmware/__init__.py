"""Templates of C code for flight controllers; see propwash.gym.export_c."""
