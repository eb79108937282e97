#!/usr/bin/env bash
# Guess: Go's HTTP client never repeats a POST by itself, so each `Do` is one request on the wire, or an error.
# Seen: with the header Idempotency-Key it does. When a kept connection ends without an answer, the POST that had
# arrived is sent again on a new one, byte for byte, and `Do` returns that answer without an error. Without the header
# `Do` fails.
# Why it matters: the copy has the signature and the nonce of the first, so a service that accepts a nonce once
# answers 401 for an order that it has taken, and code that signs in its own retry loop never sees the lost answer.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
if ! command -v go >/dev/null; then echo 'this needs go in PATH'; exit 1; fi
go version
printf 'module run\n\ngo 1.19\n' >go.mod
cat >main.go <<'GO'
package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
)

// server answers each nonce once, and drops the connection instead of its first answer to an order.
type server struct {
	sync.Mutex
	nonces  map[string]bool
	arrived []string
}

func (s *server) serve(connection net.Conn) {
	defer connection.Close()
	reader := bufio.NewReader(connection)
	for {
		request, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		io.Copy(io.Discard, request.Body)
		nonce, status := request.Header.Get("X-Nonce"), "200 OK"
		s.Lock()
		if s.nonces[nonce] {
			status = "401 Unauthorized"
		}
		isLost := request.URL.Path == "/orders" && !s.nonces[nonce]
		s.nonces[nonce] = true
		s.arrived = append(s.arrived, request.URL.Path+" "+nonce)
		s.Unlock()
		if isLost {
			return
		}
		fmt.Fprintf(connection, "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", status)
	}
}

func run(header string) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer listener.Close()
	service := &server{nonces: map[string]bool{}}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go service.serve(connection)
		}
	}()
	client := &http.Client{Transport: &http.Transport{}}
	outcome := ""
	for i, path := range []string{"/quotes", "/orders"} {
		request, _ := http.NewRequest("POST", "http://"+listener.Addr().String()+path, strings.NewReader(`{"energy":65000}`))
		request.Header.Set("X-Nonce", fmt.Sprint("nonce", i+1))
		if header != "" {
			request.Header.Set(header, "payout-2041")
		}
		answer, err := client.Do(request)
		if err != nil {
			outcome = "error"
			continue
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		outcome = answer.Status
	}
	service.Lock()
	defer service.Unlock()
	return fmt.Sprintf("%s, arrived: %s", outcome, strings.Join(service.arrived, ", "))
}

func main() {
	expected := map[string]string{
		"":                "error, arrived: /quotes nonce1, /orders nonce2",
		"Idempotency-Key": "401 Unauthorized, arrived: /quotes nonce1, /orders nonce2, /orders nonce2",
	}
	for _, header := range []string{"", "Idempotency-Key"} {
		seen := run(header)
		fmt.Printf("%q: %s\n", header, seen)
		if seen != expected[header] {
			os.Exit(1)
		}
	}
}
GO
GOTOOLCHAIN=local GOFLAGS=-mod=mod timeout 200 go run .
