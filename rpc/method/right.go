package method

// Right is what a client must be allowed to do to call a method. [Define] takes one, so that no method is without.
type Right struct{ word string }

// The rights that there are.
var (
	Use      = Right{"use"}      // to have sessions
	Keys     = Right{"keys"}     // to set keys and to log in
	Settings = Right{"settings"} // to set what applies to all sessions
	Admin    = Right{"admin"}    // to run the daemon: the methods of its own commands
	Audit    = Right{"audit"}    // to read what others did
)

// String is the word of a right in the protocol.
func (r Right) String() string { return r.word }

// RightNamed finds a right by its word.
func RightNamed(word string) (Right, bool) {
	for _, r := range Rights() {
		if r.word == word {
			return r, true
		}
	}
	return Right{}, false
}

// Rights lists all rights.
func Rights() []Right { return []Right{Use, Keys, Settings, Admin, Audit} }
