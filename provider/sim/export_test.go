package sim

// Names for the tests of the marker's grammar, which speak to a face and so stand outside of this package.
var (
	Faults = faults
	Usages = usages
)

// WordUsages is how each word of the marker is used.
func WordUsages() (list []string) {
	for _, w := range words {
		list = append(list, w.usage)
	}
	return list
}
