"""One module per subcommand: prepare_parser(parser) and run(args)."""
