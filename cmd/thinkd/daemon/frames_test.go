package daemon

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	simaws "github.com/thinkd/thinkd/provider/sim/aws"
)

// Converse writes frames of bytes, and the other wire APIs lines of text.

// eventsOf cuts an answer into its events.
func eventsOf(api string, body []byte) (events [][]byte) {
	switch api {
	case "converse":
		for len(body) > 0 {
			n := int(binary.BigEndian.Uint32(body))
			events, body = append(events, body[:n]), body[n:]
		}
		return events
	case "ollama":
		events = bytes.SplitAfter(body, []byte("\n"))
	default:
		events = bytes.SplitAfter(body, []byte("\n\n"))
	}
	if last := len(events) - 1; len(events[last]) == 0 {
		events = events[:last]
	}
	return events
}

// stretch puts a long text in place of a mark, and writes the lengths and sums of frames anew.
func stretch(api string, body []byte, mark, long string) []byte {
	if api != "converse" {
		return bytes.ReplaceAll(body, []byte(mark), []byte(long))
	}
	const prelude, sum = 12, 4
	var all []byte
	for _, frame := range eventsOf(api, body) {
		payload := prelude + int(binary.BigEndian.Uint32(frame[4:]))
		head := frame[prelude:payload]
		text := bytes.ReplaceAll(frame[payload:len(frame)-sum], []byte(mark), []byte(long))
		from := len(all)
		all = binary.BigEndian.AppendUint32(all, uint32(prelude+len(head)+len(text)+sum))
		all = append(all, frame[4:8]...)
		all = binary.BigEndian.AppendUint32(all, crc32.ChecksumIEEE(all[from:]))
		all = append(append(all, head...), text...)
		all = binary.BigEndian.AppendUint32(all, crc32.ChecksumIEEE(all[from:]))
	}
	return all
}

// keepAlive is what says that a connection lives, and nothing more.
func keepAlive(api string) []byte {
	switch api {
	case "ollama": // lines of JSON, which have no comments
		return []byte("\n")
	case "converse":
		return simaws.AppendEvent(nil, "messageStart", []byte(`{"role":"assistant"}`))
	}
	return []byte(": keep-alive\n\n")
}

// endless begins an event whose end does not come while a byte x follows another.
func endless(api string) []byte {
	if api == "converse" {
		return append(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 1<<20), 8), "sums"...)
	}
	return nil
}
