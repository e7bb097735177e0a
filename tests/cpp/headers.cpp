// Precompiles the headers that most tests include.
