// A receiver of webhooks with Go's standard library.
//
//	export WEBHOOK_SECRET=whsec_…
//	PORT=4000 INBOX=./inbox go run ./receive
//
// Each event becomes one file in INBOX, even if it arrives repeatedly, and is answered with 204 once it is stored.
// Another program of yours processes the files. With a database, use a row with the id as unique key.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	tolerance    = 5 * time.Minute
	bodyBytesMax = 100_000
)

var (
	idForm        = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	timestampForm = regexp.MustCompile(`^[0-9]{1,12}$`)
)

// isVerified reports if the service sent the request: signed with our secret over these bytes within five minutes.
func isVerified(header http.Header, body, key []byte) bool {
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	if !idForm.MatchString(id) || !timestampForm.MatchString(timestamp) {
		return false
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return false
	}
	if age := time.Since(time.Unix(seconds, 0)); age > tolerance || age < -tolerance {
		return false
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	wanted := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	// While the secret is rotated, the header has one signature for each secret.
	for _, given := range strings.Split(header.Get("webhook-signature"), " ") {
		if hmac.Equal([]byte(given), wanted) {
			return true
		}
	}
	return false
}

// keep stores the event under its id and reports false if it exists. The file is written completely before it gets its
// name.
func keep(inbox, id string, body []byte) (bool, error) {
	draft, err := os.CreateTemp(inbox, ".*")
	if err != nil {
		return false, err
	}
	defer os.Remove(draft.Name())
	defer draft.Close()
	if _, err := draft.Write(body); err != nil {
		return false, err
	}
	if err := draft.Sync(); err != nil {
		return false, err
	}
	err = os.Link(draft.Name(), filepath.Join(inbox, id+".json"))
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

func take(request *http.Request, inbox string, key []byte) int {
	body, err := io.ReadAll(io.LimitReader(request.Body, bodyBytesMax+1))
	if err != nil || len(body) > bodyBytesMax {
		return http.StatusRequestEntityTooLarge
	}
	if request.Method != http.MethodPost || !isVerified(request.Header, body, key) {
		return http.StatusBadRequest
	}
	id := request.Header.Get("webhook-id")
	isNew, err := keep(inbox, id, body)
	if err != nil {
		// Not stored: the service will send it again.
		log.Print(err)
		return http.StatusInternalServerError
	}
	var event struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(body, &event) == nil && isNew {
		log.Print(event.Type, " ", id)
	}
	return http.StatusNoContent
}

func setting(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}

func main() {
	secret := os.Getenv("WEBHOOK_SECRET")
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if !strings.HasPrefix(secret, "whsec_") || err != nil {
		log.Fatal("Set WEBHOOK_SECRET to the secret of the webhook.")
	}
	inbox := setting("INBOX", "./inbox")
	if err := os.MkdirAll(inbox, 0o777); err != nil {
		log.Fatal(err)
	}
	server := http.Server{
		Addr:        "127.0.0.1:" + setting("PORT", "4000"),
		ReadTimeout: 15 * time.Second,
		Handler: http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
			response.WriteHeader(take(request, inbox, key))
		}),
	}
	log.Fatal(server.ListenAndServe())
}
