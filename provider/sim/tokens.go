package sim

import (
	"strings"
	"unicode/utf8"
)

// fileTokens is the most that a file in base64 counts: vendors count the pixels of an image, not its bytes.
const fileTokens = 1500

// Tokens returns the number of tokens of s by the simulator's own count: one for every four characters, rounded up. A file in base64, in
// the JSON of any wire API, counts fileTokens at most.
func Tokens(s string) int {
	n := utf8.RuneCountInString(s)
	for _, mark := range []string{";base64,", `"data":"`} {
		for rest := s; ; {
			_, file, ok := strings.Cut(rest, mark)
			size := strings.IndexByte(file, '"')
			if !ok || size < 0 {
				break
			}
			if !strings.HasPrefix(file, "data:") { // then the other mark is behind this one
				n -= max(size-4*fileTokens, 0)
			}
			rest = file[size:]
		}
	}
	return (n + 3) / 4
}
