// Signed requests with Go's standard library.
//
//	export BASE_URL=http://127.0.0.1:3000 MERCHANT=<Merchant ID> API_KEY=<API key>
//	go run energy.go quote T… [ENERGY] [DURATION_SEC]
//	go run energy.go order QUOTE_REF IDEMPOTENCY_KEY
//	go run energy.go get IDEMPOTENCY_KEY
//	go run energy.go balance
//	go run energy.go call METHOD PATH [BODY] [IDEMPOTENCY_KEY]      any request; BODY as JSON
//
// Signed by HMAC; SIGNATURES=md5 signs like early clients.
package main

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const attemptsMax = 3

var client = http.Client{Timeout: 60 * time.Second}

// canonical returns JSON with sorted keys and no spaces; exactly this text is signed and sent. Go sorts the keys of
// maps.
func canonical(body map[string]any) string {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// offset is the lead of the service's clock over ours in seconds, once the service has reported its time.
var offset int64

// sign sets the signature headers of one attempt: HMAC over nine lines, with a new nonce for each attempt.
func sign(request *http.Request, path, text, key string) error {
	apiKey := os.Getenv("API_KEY")
	if os.Getenv("SIGNATURES") == "md5" {
		// Covers the body only; a GET signs the empty string.
		sum := md5.Sum([]byte(base64.StdEncoding.EncodeToString([]byte(text)) + apiKey))
		request.Header.Set("Signature", hex.EncodeToString(sum[:]))
		return nil
	}
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		return err
	}
	timestamp, nonce := strconv.FormatInt(time.Now().Unix()+offset, 10), hex.EncodeToString(random)
	route, query, _ := strings.Cut(path, "?")
	decoded, err := url.PathUnescape(route)
	if err != nil {
		return err
	}
	hash := sha256.Sum256([]byte(text))
	lines := []string{"CC-HMAC-SHA256-REQ-V1", timestamp, nonce, request.Method, decoded, query,
		os.Getenv("MERCHANT"), key, hex.EncodeToString(hash[:])}
	mac := hmac.New(sha256.New, []byte(apiKey))
	mac.Write([]byte(strings.Join(lines, "\n")))
	request.Header.Set("X-CC-Timestamp", timestamp)
	request.Header.Set("X-CC-Nonce", nonce)
	request.Header.Set("X-CC-Signature", "v1="+hex.EncodeToString(mac.Sum(nil)))
	return nil
}

// refusal is the service's error and its time.
type refusal struct {
	Error      string `json:"error"`
	ServerTime int64  `json:"server_time"`
}

// refusalIn returns an empty refusal for any other answer.
func refusalIn(content []byte) refusal {
	var said refusal
	if json.Unmarshal(content, &said) != nil {
		return refusal{}
	}
	return said
}

// call sends one request. It repeats it after a lost answer, a 429 or a 503, which an Idempotency-Key makes safe. It
// signs again after SIGNATURE_REPLAYED: Go's client copies a lost request that has an Idempotency-Key by itself, and the
// first copy may have been executed.
func call(method, path string, body map[string]any, key string) (int, string, error) {
	text := ""
	if body != nil {
		text = canonical(body)
	}
	for attempt := 1; ; attempt++ {
		request, err := http.NewRequest(method, os.Getenv("BASE_URL")+path, strings.NewReader(text))
		if err != nil {
			return 0, "", err
		}
		request.Header.Set("Merchant", os.Getenv("MERCHANT"))
		if err := sign(request, path, text, key); err != nil {
			return 0, "", err
		}
		if body != nil {
			request.Header.Set("Content-Type", "application/json")
		}
		if key != "" {
			request.Header.Set("Idempotency-Key", key)
		}
		pause := attempt
		answer, err := client.Do(request)
		if err == nil {
			content, readErr := io.ReadAll(answer.Body)
			answer.Body.Close()
			said := refusalIn(content)
			if said.Error == "SIGNATURE_TIMESTAMP_OUT_OF_RANGE" && attempt < attemptsMax {
				offset = said.ServerTime - time.Now().Unix()
				continue
			}
			isRepeatable := readErr != nil || answer.StatusCode == 429 || answer.StatusCode == 503 ||
				said.Error == "SIGNATURE_REPLAYED"
			if !isRepeatable || attempt == attemptsMax {
				return answer.StatusCode, string(content), readErr
			}
			if after, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil {
				pause = after
			}
		} else if attempt == attemptsMax {
			return 0, "", err
		}
		time.Sleep(time.Duration(pause) * time.Second)
	}
}

var digits = regexp.MustCompile(`^[0-9]{1,15}$`)

func quote(args []string) (int, string, error) {
	for _, text := range args[1:] {
		if text != "" && !digits.MatchString(text) {
			return 0, "", fmt.Errorf("no whole number: %s", text)
		}
	}
	body := map[string]any{"receive_address": args[0]}
	if len(args) > 1 && args[1] != "" && args[1] != "0" {
		body["energy"] = json.Number(args[1])
	}
	if len(args) > 2 {
		body["duration_sec"] = json.Number(args[2])
	}
	return call("POST", "/v1/quotes", body, "")
}

func anyCall(args []string) (int, string, error) {
	var body map[string]any
	if len(args) > 2 {
		decoder := json.NewDecoder(strings.NewReader(args[2]))
		// Keeps numbers exactly as written.
		decoder.UseNumber()
		if err := decoder.Decode(&body); err != nil {
			return 0, "", err
		}
	}
	key := ""
	if len(args) > 3 {
		key = args[3]
	}
	return call(args[0], args[1], body, key)
}

func main() {
	wanted := map[string]int{"quote": 1, "order": 2, "get": 1, "balance": 0, "call": 2}
	if len(os.Args) < 2 {
		os.Args = append(os.Args, "")
	}
	count, isKnown := wanted[os.Args[1]]
	args := os.Args[2:]
	if !isKnown || len(args) < count {
		fmt.Fprintln(os.Stderr, "Name one of: quote RECEIVER, order QUOTE_REF KEY, get KEY, balance, call METHOD PATH [BODY] [KEY].")
		os.Exit(2)
	}
	var status int
	var answer string
	var err error
	switch os.Args[1] {
	case "quote":
		status, answer, err = quote(args)
	case "order":
		status, answer, err = call("POST", "/v1/orders", map[string]any{"quote_ref": args[0]}, args[1])
	case "get":
		status, answer, err = call("GET", "/v1/orders/"+url.PathEscape(args[0]), nil, "")
	case "balance":
		status, answer, err = call("GET", "/v1/balance", nil, "")
	case "call":
		status, answer, err = anyCall(args)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(answer)
	if status >= 300 {
		os.Exit(1)
	}
}
