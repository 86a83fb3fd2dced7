//go:build !linux

package bench

import (
	"context"
	"errors"
)

func runEpoll(context.Context, script, Load) ([]Exchange, error) {
	return nil, errors.New("epoll is Linux's")
}
