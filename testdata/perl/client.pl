#!/usr/bin/perl
# A client in a fourth language, written from protocol.md alone. It approves and runs a tool, loses its connection during a turn, and goes on
# without a gap. Usage: client.pl THINKD   (THINKD is the program, with its flags)
use strict;
use warnings;
use IPC::Open2;
use JSON::PP;

$| = 1;
my @command = (split(' ', $ARGV[0]), 'stdio');
my $json = JSON::PP->new->utf8->canonical;
my ($in, $out, $pid, $id, @notes);

sub start {
	$pid = open2($in, $out, @command);
	@notes = ();
	$id = 0;
	call('initialize', { protocol_version => 1, client => { name => 'perl' }, capabilities => { tools => JSON::PP::true, confirm => JSON::PP::true } });
}

# Standard input ends, thinkd stdio exits, and the turn continues.
sub stop { close $out; 1 while <$in>; waitpid $pid, 0 }

sub message {
	my $line = <$in>;
	die "the connection ended\n" unless defined $line;
	return $json->decode($line);
}

# A request, and its result. Notifications that come before the response wait.
sub call {
	my ($method, $params) = @_;
	$id++;
	print $out $json->encode({ jsonrpc => '2.0', id => $id, method => $method, params => $params }), "\n";
	$out->flush;
	while (my $m = message()) {
		if ($m->{method}) { push @notes, $m; next }
		die "$method: $m->{error}{message} ($m->{error}{data}{kind})\n" if $m->{error};
		return $m->{result};
	}
}

sub note { return @notes ? shift @notes : message() }

start();
my $session = call('session/new', {
	model_id => 'sim/claude', thinking_level => 'high',
	tools => [ { name => 'lookup', description => 'Looks up a word.', input_schema => { type => 'object' } } ],
	tool_policy => { names => { lookup => 'ask' } },
})->{session_id};

sub look_up {
	my ($p) = @_;
	call('tool/result', { session_id => $session, call_id => $p->{call_id}, content => [ { type => 'text', text => "$p->{arguments}{word}: 2026-03-01" } ] });
}

my $turn = call('session/prompt', { session_id => $session, text => 'Look it up. [[sim: tool=lookup args={"word":"date"} thinking=10 text=6 pace=0]]' })->{turn_id};
while (my $n = note()) {
	my ($method, $p) = @$n{qw(method params)};
	if ($method eq 'confirm') {
		print join(' ', $p->{message}, map { "$_->{name} $_->{text}" } @{ $p->{parts} }), "\n";
		call('confirm/answer', { session_id => $session, confirm_id => $p->{confirm_id}, action => 'allow_session' });
	} elsif ($method eq 'tool_start') {
		look_up($p);
	} elsif ($method eq 'tool_end') {
		print "result $p->{content}[0]{text}\n";
	} elsif ($method eq 'turn_end' && $p->{turn_id} eq $turn) {
		print "$p->{stop_reason}\n";
		last;
	}
}

# The text of each block, as its deltas add up to it and as its end has it. A connection is lost after the first piece. The turn waits for the tool,
# so that it cannot end before the next connection.
my (%watched, %ended, $seq, $lost);
$turn = call('session/prompt', { session_id => $session, text => 'Look it up. [[sim: tool=lookup args={"word":"date"} thinking=60 text=20 pace=60]]' })->{turn_id};
while (my $n = note()) {
	my ($method, $p) = @$n{qw(method params)};
	next unless ($p->{session_id} // '') eq $session;
	$seq = $p->{seq} if $p->{seq};
	my $block = join ' ', $p->{message_id} // '', $p->{block} // '';
	$watched{$block} .= $p->{delta} if $method =~ /^(thinking|message)_delta$/;
	$ended{$block} = $p->{text} if $method =~ /^(thinking|text)_end$/;
	look_up($p) if $method eq 'tool_start' && $p->{turn_id} eq $turn;
	last if $method eq 'turn_end' && $p->{turn_id} eq $turn;
	next if $lost || $method ne 'thinking_delta';
	$lost = 1;
	stop();
	start();
	my $state = call('session/attach', { session_id => $session, after_seq => $seq });
	die "no updates\n" unless $state->{updates};
	unshift @notes, @{ $state->{updates} };
}
die "$_: the deltas do not add up\n" for grep { $watched{$_} ne $ended{$_} } keys %ended;
print scalar(keys %ended), " blocks, nothing lost\n";
stop();
