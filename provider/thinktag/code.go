package thinktag

// code follows a text in Markdown and knows whether its end is inside of code: between backticks on one line, or in a
// block between fences.
type code struct {
	fence  int  // backticks that opened the block; 0: outside
	inline int  // backticks that opened the span; 0: outside
	ticks  int  // of the run that the text ends with
	inLine bool // something other than white space came in this line, before that run
}

func (c *code) add(text string) {
	for i := range len(text) {
		b := text[i]
		if b == '`' {
			c.ticks++
			continue
		}
		c.settle()
		switch b {
		case '\n':
			c.inLine, c.inline = false, 0 // a stray backtick reaches no further than its line
		case ' ', '\t', '\r':
		default:
			c.inLine = true
		}
	}
}

// settle takes in the run of backticks that has ended.
func (c *code) settle() {
	n := c.ticks
	if n == 0 {
		return
	}
	switch fences := n >= 3 && !c.inLine; {
	case c.fence > 0:
		if fences && n >= c.fence {
			c.fence = 0
		}
	case fences:
		c.fence = n
	case c.inline == 0:
		c.inline = n
	case c.inline == n:
		c.inline = 0
	}
	c.ticks, c.inLine = 0, true
}

// inside reports whether what comes next is code.
func (c code) inside() bool {
	c.settle()
	return c.fence > 0 || c.inline > 0
}
