module energy

go 1.18
