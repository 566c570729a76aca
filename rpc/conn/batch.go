package conn

// batch is an array of messages. Its elements are checked, limited and handled alone, in order, and their answers go
// out together in that order. It belongs to the reading goroutine.
type batch struct {
	elements [][]byte // of the frame
	next     int      // the first element that was not read yet
	ids      []string // as sent, by element
	taken    []string // those that this batch holds until its array is out
	answers  [][]byte // by element; nil: none
	sound    bool     // one element at least was no malformed message
}

func newBatch(frame []byte) (*batch, *Error) {
	b := new(batch)
	for element := range Elements(frame) {
		if len(b.elements) == MaxBatch {
			return nil, InvalidRequest("a batch has at most %d elements", MaxBatch)
		}
		b.elements = append(b.elements, element)
	}
	if len(b.elements) == 0 {
		return nil, ErrInvalidRequest
	}
	b.ids = make([]string, len(b.elements))
	b.answers = make([][]byte, len(b.elements))
	return b, nil
}

// join makes one message of the answers, nil if there are none. The limit holds for that message, so the largest of
// them give way to an error.
func (b *batch) join(limit int) ([]byte, error) {
	size, answered := 2, 0
	for _, a := range b.answers {
		if a != nil {
			size += len(a) + 1
			answered++
		}
	}
	if answered == 0 {
		return nil, nil
	}
	for size > limit {
		largest := 0
		for i, a := range b.answers {
			if len(a) > len(b.answers[largest]) {
				largest = i
			}
		}
		instead, err := EncodeFailure(b.ids[largest], TooLarge("the batch's answer", limit))
		if err != nil {
			return nil, err
		}
		if len(instead) >= len(b.answers[largest]) {
			break // nothing to gain: the limit is smaller than a batch of errors
		}
		size -= len(b.answers[largest]) - len(instead)
		b.answers[largest] = instead
	}
	array := make([]byte, 0, size)
	for _, a := range b.answers {
		if a != nil {
			array = append(append(array, ','), a...)
		}
	}
	array[0] = '['
	return append(array, ']'), nil
}

// Parse reads a frame exactly as a [Conn] does, for a process between the two: so both agree on what will be answered,
// and how. With an error, that is the only answer.
func Parse(frame []byte) (messages []Message, isBatch bool, err *Error) {
	if isBatch, err = checkFrame(frame); err != nil {
		return nil, false, err
	}
	if !isBatch {
		return []Message{parsed(frame)}, false, nil
	}
	b, err := newBatch(frame)
	if err != nil {
		return nil, true, err
	}
	for _, element := range b.elements {
		messages = append(messages, parsed(element))
	}
	return messages, true, nil
}

func parsed(value []byte) Message {
	m, refused := readMessage(value)
	m.Refused = refused
	return m
}
