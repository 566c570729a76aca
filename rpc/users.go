package rpc

import (
	"context"
	"errors"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

func userMethods() []method.Method[*client] {
	return []method.Method[*client]{
		method.Define(door.MethodUsers, method.Admin, "Lists the users.", method.Late(func(_ context.Context, c *client, _ method.Nothing) (func(context.Context) (door.Users, error), error) {
			return onUsers(c, func(ctx context.Context, u Users) (door.Users, error) { return u.List(ctx) })
		}), conn.CodeMethodNotFound),
		method.Define(door.MethodUserSessions, method.Admin, "Lists the sessions of a user.", method.Late(func(_ context.Context, c *client, p door.UserSessionsParams) (func(context.Context) (door.UserSessions, error), error) {
			return onUsers(c, func(ctx context.Context, u Users) (door.UserSessions, error) { return u.Sessions(ctx, p) })
		}), conn.CodeMethodNotFound),
		method.Define(door.MethodDeleteSession, method.Admin, "Deletes a session of a user.", method.Late(func(_ context.Context, c *client, p door.UserSessionParams) (func(context.Context) (method.Nothing, error), error) {
			return onUsers(c, func(ctx context.Context, u Users) (method.Nothing, error) {
				return method.Nothing{}, u.DeleteSession(ctx, p)
			})
		}), conn.CodeMethodNotFound, conn.CodeNotFound),
		method.Define(door.MethodDeleteUser, method.Admin, "Deletes all that is a user's, and rewrites the store's file.", method.Late(func(_ context.Context, c *client, u door.UserName) (func(context.Context) (door.UserDeletion, error), error) {
			return onUsers(c, func(ctx context.Context, all Users) (door.UserDeletion, error) { return all.Delete(ctx, u) })
		}), conn.CodeMethodNotFound),
	}
}

// onUsers answers late with what run returns.
func onUsers[R any](c *client, run func(context.Context, Users) (R, error)) (func(context.Context) (R, error), error) {
	if c.local.Users == nil {
		return nil, conn.ErrMethodNotFound
	}
	users := c.local.Users
	return reporting(func(ctx context.Context) (R, error) {
		r, err := run(ctx, users)
		if errors.Is(err, session.ErrNotFound) {
			return r, &conn.Error{Code: conn.CodeNotFound, Message: err.Error()}
		}
		return r, err
	}), nil
}
