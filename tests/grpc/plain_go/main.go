// A client and a server generated from the original grpc.proto, in Go. Like plain.py, with the same
// arguments except for the folder of generated modules. test_plain.py builds it.
package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"plain/jelly"
)

func frames(names []string) []*jelly.RdfStreamFrame {
	var found []*jelly.RdfStreamFrame
	for _, name := range names {
		data, err := os.ReadFile(name)
		must(err)
		frame := &jelly.RdfStreamFrame{}
		must(proto.Unmarshal(data, frame))
		found = append(found, frame)
	}
	return found
}

func show(frame *jelly.RdfStreamFrame) {
	data, err := proto.Marshal(frame)
	must(err)
	fmt.Println(hex.EncodeToString(data))
}

func must(err error) {
	if err == nil {
		return
	}
	if failure, ok := status.FromError(err); ok {
		name := map[codes.Code]string{
			codes.InvalidArgument: "INVALID_ARGUMENT", codes.NotFound: "NOT_FOUND",
		}[failure.Code()]
		fmt.Fprintf(os.Stderr, "%s: %s (%s)\n", name, failure.Message(), failure.Code())
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(1)
}

type service struct {
	jelly.UnimplementedRdfStreamServiceServer
	names []string
}

func (s service) SubscribeRdf(
	request *jelly.RdfStreamSubscribe, stream grpc.ServerStreamingServer[jelly.RdfStreamFrame],
) error {
	if request.Topic != "weather" {
		return status.Error(codes.InvalidArgument, "only weather here")
	}
	for _, frame := range frames(s.names) {
		if err := stream.Send(frame); err != nil {
			return err
		}
	}
	return nil
}

func (service) PublishRdf(
	stream grpc.ClientStreamingServer[jelly.RdfStreamFrame, jelly.RdfStreamReceived],
) error {
	for {
		frame, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(&jelly.RdfStreamReceived{})
		}
		if err != nil {
			return err
		}
		show(frame)
	}
}

func serve(names []string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	server := grpc.NewServer()
	jelly.RegisterRdfStreamServiceServer(server, service{names: names})
	must(server.Serve(listener))
}

func publish(client jelly.RdfStreamServiceClient, names []string) {
	stream, err := client.PublishRdf(context.Background())
	must(err)
	for _, frame := range frames(names) {
		// The subsequent call reports the rejection.
		if stream.Send(frame) != nil {
			break
		}
	}
	_, err = stream.CloseAndRecv()
	must(err)
}

func subscribe(client jelly.RdfStreamServiceClient, topic string, asked []string) {
	request := &jelly.RdfStreamSubscribe{Topic: topic}
	if len(asked) > 0 {
		request.RequestedOptions = &jelly.RdfStreamOptions{}
	}
	for _, each := range asked {
		name, text, _ := strings.Cut(each, "=")
		number, err := strconv.Atoi(text)
		must(err)
		switch name {
		case "physical_type":
			request.RequestedOptions.PhysicalType = jelly.PhysicalStreamType(number)
		case "max_name_table_size":
			request.RequestedOptions.MaxNameTableSize = uint32(number)
		case "version":
			request.RequestedOptions.Version = uint32(number)
		default:
			must(errors.New("no such option: " + name))
		}
	}
	stream, err := client.SubscribeRdf(context.Background(), request)
	must(err)
	for {
		frame, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return
		}
		must(err)
		show(frame)
	}
}

func main() {
	command, arguments := os.Args[1], os.Args[2:]
	if command == "serve" {
		serve(arguments)
		return
	}
	connection, err := grpc.NewClient(
		arguments[0], grpc.WithTransportCredentials(insecure.NewCredentials()),
	)
	must(err)
	client := jelly.NewRdfStreamServiceClient(connection)
	if command == "publish" {
		publish(client, arguments[1:])
	} else {
		subscribe(client, arguments[1], arguments[2:])
	}
}
