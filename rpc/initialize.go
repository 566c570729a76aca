package rpc

import (
	"context"
	"time"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/rpc/wire"
)

type initializeParams struct {
	ProtocolVersion int                `json:"protocol_version,omitempty"`
	Client          clientInfo         `json:"client,omitzero"`
	Capabilities    clientCapabilities `json:"capabilities,omitzero"`
	Strict          bool               `json:"strict,omitempty"`        // no member of a request is ignored
	Notifications   []updateName       `json:"notifications,omitempty"` // nil: all
}

type clientInfo struct {
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`

	Attended bool `json:"attended,omitempty"` // a person uses the client
}

// capabilities are the parts of the protocol that need both sides.
type capabilities struct {
	Tools   bool `json:"tools"`   // tools that the client runs
	Confirm bool `json:"confirm"` // questions to the user

	// What this client may ask for in session/new.
	Builtin bool `json:"builtin_tools"`
	Servers bool `json:"mcp_servers"` // its own
}

// clientCapabilities are the same of a client, which names those that it has.
type clientCapabilities struct {
	Tools   bool `json:"tools,omitempty"`
	Confirm bool `json:"confirm,omitempty"`
}

type initializeResult struct {
	ProtocolVersion int          `json:"protocol_version"`
	Server          serverInfo   `json:"server"`
	Capabilities    capabilities `json:"capabilities"`
	Limits          limits       `json:"limits"`
	Reconnect       reconnect    `json:"reconnect"`            // when the connection breaks
	Listen          string       `json:"listen,omitempty"`     // where browsers find the page, without the token
	Identity        *identity    `json:"identity,omitempty"`   // absent: the operator
	Durability      string       `json:"durability,omitempty"` // of a cluster: verified or unverified
}

type serverInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// limits have the names of the settings that change them, where there are any.
type limits struct {
	MessageBytes int `json:"max_message_bytes"` // in both directions
	Depth        int `json:"max_depth"`
	MethodBytes  int `json:"max_method_bytes"`
	IDBytes      int `json:"max_id_bytes"`
	Batch        int `json:"max_batch"`
	InFlight     int `json:"max_in_flight"`
}

func initialize(_ context.Context, c *client, p initializeParams) (initializeResult, error) {
	if c.greeted {
		return initializeResult{}, conn.InvalidRequest("initialize was called before on this connection")
	}
	c.greeted, c.confirms, c.strict = true, p.Capabilities.Confirm, p.Strict
	c.wants = wantedOf(p.Notifications)
	c.Attended = p.Client.Attended
	c.name = wire.Characters(p.Client.Name, service.MaxClientName)
	c.server.config.Log.Debug("client", "name", p.Client.Name, "version", p.Client.Version)
	result := initializeResult{
		ProtocolVersion: wire.ProtocolVersion,
		Server:          serverInfo{Name: "thinkd", Version: c.server.config.Version},
		Capabilities:    capabilities{Tools: true, Confirm: true, Builtin: c.MayHaveBuiltin(), Servers: c.MayOfferServers()},
		Limits: limits{
			MessageBytes: c.server.config.MessageBytes,
			Depth:        conn.MaxDepth,
			MethodBytes:  conn.MaxMethod,
			IDBytes:      conn.MaxID,
			Batch:        conn.MaxBatch,
			InFlight:     conn.MaxInFlight,
		},
		Reconnect: c.server.reconnect(),
	}
	if c.Lease != nil {
		result.Identity = identityOf(c.Principal, c.Lease.Expires())
	}
	if listening := c.server.config.Listening; listening != nil {
		result.Listen = listening()
	}
	if durability := c.server.config.Durability; durability != nil {
		result.Durability = durability()
	}
	return result, nil
}

func ping(context.Context, *client, method.Nothing) (method.Nothing, error) {
	return method.Nothing{}, nil
}

// When clients come back to a daemon that went. All of them notice in the same moment; a daemon that begins takes some
// 1,000 a second without effort, so they get a random delay beforehand, below a bound that grows with their number.
// One that came early got a small bound and comes back early, one that came late a large one: together they come evenly
// enough. A daemon that is killed says nothing any more, hence beforehand, and to all in one place.
const (
	perClient    = time.Millisecond       // of the bound
	daemonStart  = 100 * time.Millisecond // before that it is of no use to try
	fewClients   = 250 * time.Millisecond // the bound for next to none
	maxReconnect = 15 * time.Second
)

// reconnect is how long a client waits after its connection broke: any time between the two. It doubles both with each
// try that fails.
type reconnect struct {
	Min int64 `json:"min_ms"`
	Max int64 `json:"max_ms"`
}

// spread is the time over which the clients that there are had better come back.
func (s *Server) spread() time.Duration {
	return min(time.Duration(s.crowd())*perClient, maxReconnect)
}

func (s *Server) reconnect() reconnect {
	return reconnect{daemonStart.Milliseconds(), min(fewClients+s.spread(), maxReconnect).Milliseconds()}
}
