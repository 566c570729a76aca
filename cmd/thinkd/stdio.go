package main

import (
	"errors"
	"io"
	"sync"

	"github.com/spf13/cobra"
)

func (p *program) stdioCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stdio",
		Short: "Speak the protocol on standard input and output, for editors and scripts",
		Long: `Speak JSON-RPC 2.0 on standard input and output: one message a line, or with
Content-Length headers, as the client begins. protocol.md has the methods.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := p.open(cmd.Context(), nil)
			if err != nil {
				return err
			}
			err = d.serve(cmd.Context(), newPipe(p.in, p.out))
			return errors.Join(err, d.close())
		},
	}
}

// pipe is standard input and output as one connection. Closing it ends a Read under way, which closing standard input
// itself would not: so a goroutine reads ahead, and ends with the process if its last read never returns.
type pipe struct {
	io.Reader
	io.Writer
	once sync.Once
	end  func()
}

func newPipe(in io.Reader, out io.Writer) *pipe {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, in)
		w.CloseWithError(err)
	}()
	return &pipe{Reader: r, Writer: out, end: func() {
		r.Close()
		if c, ok := out.(io.Closer); ok {
			c.Close() // a write that hangs ends too, where the system can
		}
	}}
}

func (p *pipe) Close() error {
	p.once.Do(p.end)
	return nil
}
