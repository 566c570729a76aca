package rpc

// batch is an array of messages. Its elements are checked, limited and handled alone, in order, and their answers go
// out together in that order. It belongs to the reading goroutine.
type batch struct {
	elements [][]byte // of the frame
	next     int      // the first that nobody has looked at
	ids      []string // as sent, by element
	taken    []string // those that this batch holds until its array is out
	answers  [][]byte // by element; nil: none
	sound    bool     // one element at least was no malformed message
}

func newBatch(frame []byte) (*batch, *Error) {
	b := new(batch)
	for element := range elements(frame) {
		if len(b.elements) == maxBatch {
			return nil, refuse("a batch has at most %d elements", maxBatch)
		}
		b.elements = append(b.elements, element)
	}
	if len(b.elements) == 0 {
		return nil, errInvalidRequest
	}
	b.ids = make([]string, len(b.elements))
	b.answers = make([][]byte, len(b.elements))
	return b, nil
}

// nextOfBatch is the batch's next request; nil: it has no more, and its answers are in the queue.
func (s *Stream) nextOfBatch() ([]byte, error) {
	b := s.batch
	for b.next < len(b.elements) {
		place := b.next
		b.next++
		m, refused := readMessage(b.elements[place])
		b.ids[place] = m.id
		if refused == nil {
			b.sound = true
			var object []byte
			if object, refused = s.admit(m, b, place); object != nil {
				b.taken = append(b.taken, m.id)
				return object, nil
			}
		}
		if refused != nil {
			var err error
			if b.answers[place], err = s.failure(m.id, refused); err != nil {
				return nil, err
			}
		}
	}
	return nil, s.finishBatch()
}

func (s *Stream) finishBatch() error {
	b := s.batch
	s.batch = nil
	s.malformed++
	if b.sound {
		s.malformed = 0
	}
	array, err := s.joinBatch(b)
	if err != nil {
		return err
	}
	s.mu.Lock()
	for _, id := range b.taken {
		delete(s.ids, id)
	}
	s.mu.Unlock()
	if array == nil {
		return nil
	}
	return s.out.put(s.ctx, answer, array)
}

// joinBatch makes one message of the answers, nil if there are none. The limit holds for that message, so the largest
// of them give way to an error.
func (s *Stream) joinBatch(b *batch) ([]byte, error) {
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
	for size > s.limit {
		largest := 0
		for i, a := range b.answers {
			if len(a) > len(b.answers[largest]) {
				largest = i
			}
		}
		instead, err := s.failure(b.ids[largest], tooLarge("the batch's answer", s.limit))
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
