package rpc

import (
	"context"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/rpc/wire"
)

type initializeParams struct {
	ProtocolVersion int                `json:"protocol_version,omitempty"`
	Client          clientInfo         `json:"client,omitzero"`
	Capabilities    clientCapabilities `json:"capabilities,omitzero"`
}

type clientInfo struct {
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
}

// capabilities are the parts of the protocol that need both sides.
type capabilities struct {
	Tools   bool `json:"tools"`   // tools that the client runs
	Confirm bool `json:"confirm"` // questions to the user
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
	Reconnect       reconnect    `json:"reconnect"`        // when the connection breaks
	Listen          string       `json:"listen,omitempty"` // where browsers find the page, without the token
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
	c.greeted, c.confirms = true, p.Capabilities.Confirm
	c.name = wire.Characters(p.Client.Name, service.MaxClientName)
	c.server.config.Log.Debug("client", "name", p.Client.Name, "version", p.Client.Version)
	result := initializeResult{
		ProtocolVersion: wire.ProtocolVersion,
		Server:          serverInfo{Name: "thinkd", Version: c.server.config.Version},
		Capabilities:    capabilities{Tools: true, Confirm: true},
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
	if listening := c.server.config.Listening; listening != nil {
		result.Listen = listening()
	}
	return result, nil
}

func ping(context.Context, *client, method.Nothing) (method.Nothing, error) {
	return method.Nothing{}, nil
}
