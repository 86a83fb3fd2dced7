package simulator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/schema"
)

// Options are what a simulated service is given beside its configuration.
type Options struct {
	Model string      // name of the model that is served; not empty
	Clock clock.Clock // of the log, and of the steps
	Log   io.Writer   // the ground truth goes there; nil: nowhere. [ReadLog] reads it
	Paced *Paced      // a fixed rate in the place of the model; nil: the model
}

// Server is a simulated service. It runs nothing while no request is open.
type Server struct {
	cfg      Config
	profile  string
	model    string
	paced    *Paced
	clock    clock.Clock
	backend  backend
	metrics  metrics
	log      *logWriter
	began    time.Time
	mostBody int64 // bytes of a request's body

	ctx     context.Context // of all requests
	cancel  context.CancelFunc
	ordinal atomic.Int64 // completion requests so far
	gate    *gate        // completion requests that are open
}

// New makes a simulated service. Whoever makes one closes it, or has [Server.Serve] do it.
func New(spec schema.Simulator, o Options) (*Server, error) {
	cfg, err := Resolve(spec)
	if err != nil {
		return nil, fmt.Errorf("configuring the simulated service: %w", err)
	}
	if o.Model == "" {
		return nil, errors.New("configuring the simulated service: the model must have a name")
	}
	if o.Paced != nil {
		if err := o.Paced.check(); err != nil {
			return nil, fmt.Errorf("configuring the simulated service: %w", err)
		}
	}
	return newServer(cfg, spec.Profile, o), nil
}

func newServer(cfg Config, profile string, o Options) *Server {
	s := &Server{cfg: cfg, profile: profile, model: o.Model, paced: o.Paced, clock: o.Clock, began: time.Now(), gate: newGate(), mostBody: mostBody}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if o.Paced != nil {
		s.backend = &pacer{Paced: *o.Paced, clock: o.Clock}
	} else {
		s.backend = newEngine(cfg, o.Clock)
	}
	s.metrics = newMetrics(o.Model, s.backend)
	if o.Log != nil {
		s.log = newLogWriter(o.Log, LogHeader{Format: LogFormat, ClockID: o.Clock.ID(), Model: o.Model})
	}
	return s
}

// Handler is the service's API. It may be served by several servers.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /v1/chat/completions", s.complete(apiChat))
	mux.Handle("POST /v1/completions", s.complete(apiCompletions))
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("POST /tokenize", s.tokenize)
	mux.HandleFunc("POST /reset_prefix_cache", func(w http.ResponseWriter, _ *http.Request) {
		s.backend.forget()
		writeJSON(w, http.StatusOK, map[string]bool{"success": true})
	})
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"version": "sweetspot-simulator/" + s.profile})
	})
	mux.Handle("GET /metrics", s.metrics.handler())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server", "sweetspot-simulator")
		mux.ServeHTTP(w, r)
	})
}

// The server's own time limits.
const (
	idleTimeout   = 5 * time.Second // as uvicorn, which vLLM runs on: a client must cope
	headerTimeout = 10 * time.Second
	shutdownGrace = time.Second
)

// Serve serves HTTP/1.1, and HTTP/2 with prior knowledge, on l until ctx ends, then ends all requests, closes the listener and the service, and returns the first error of the log. It
// returns within about two seconds of ctx ending.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, Protocols: &http.Protocols{}}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	var err error
	select {
	case err = <-served:
		err = fmt.Errorf("serving on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	s.cancel()
	grace, done := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer done()
	if server.Shutdown(grace) != nil {
		_ = server.Close() // a client does not read: its connection goes, and with it what writes to it
	}
	if err == nil {
		<-served
	}
	return errors.Join(err, s.Close())
}

// Close ends all requests, waits for them, ends what the service runs, and returns the first error of the log. Later requests are refused.
func (s *Server) Close() error {
	s.cancel()
	s.gate.close()
	s.backend.stop()
	return s.log.close()
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	type model struct {
		ID          string  `json:"id"`
		Object      string  `json:"object"`
		Created     int64   `json:"created"`
		OwnedBy     string  `json:"owned_by"`
		Root        string  `json:"root"`
		Parent      *string `json:"parent"`
		MaxModelLen int     `json:"max_model_len"`
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []model{{ID: s.model, Object: "model", Created: s.began.Unix(),
		OwnedBy: "sweetspot-simulator", Root: s.model, MaxModelLen: s.cfg.MaxModelLen}}})
}

// tokenize answers with the tokens that a completion request with the same messages or prompt would have.
func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) {
	body, bad := readBody(w, r, s.mostBody, nil)
	if bad != nil {
		writeError(w, bad)
		return
	}
	wire, bad := decodeWire(body, s.model)
	if bad != nil {
		writeError(w, bad)
		return
	}
	kind := apiCompletions
	if wire.Messages != nil {
		kind = apiChat
	}
	tokens, bad := wire.tokens(kind)
	if bad != nil {
		writeError(w, bad)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"count": len(tokens), "max_model_len": s.cfg.MaxModelLen, "tokens": tokens, "token_strs": nil})
}

func writeError(w http.ResponseWriter, e *apiError) {
	writeJSON(w, e.Code, map[string]*apiError{"error": e})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that has gone is not told
}
