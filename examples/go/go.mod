module energy

go 1.21
