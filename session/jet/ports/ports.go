// Package ports finds ports on the loopback for servers that are about to start, and that must know each other's addresses before.
//
// A system takes the port of an outgoing connection from a range of its own: from 32,768 on Linux, from 49,152 on most others. A free port of
// that range may belong to a connection when its server listens, because servers that start call each other. So the ports here are below it.
package ports

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

const (
	first = 20_000
	end   = 32_768 // not included
	tries = 1000   // for each address
)

// Free returns n different addresses of the loopback at which nobody listens. Nothing reserves them: another process that asks for such a
// port may take it first. The error says why the last port could not be used.
func Free(n int) (list []string, err error) {
	for range n {
		l, lerr := listen()
		if lerr != nil {
			return nil, errors.Join(err, lerr)
		}
		defer func() { err = errors.Join(err, l.Close()) }() // at the end, so that they differ
		list = append(list, l.Addr().String())
	}
	return list, nil
}

func listen() (l net.Listener, err error) {
	for range tries {
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(end-first))); err == nil {
			return l, nil
		}
	}
	return nil, fmt.Errorf("none of %d ports is free: %w", tries, err)
}
