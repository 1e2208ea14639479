-- A value holds its children: each is counted up and listed.
for _, child in ipairs(ARGV) do
  redis.call('INCR', child .. ':rc')
  redis.call('RPUSH', KEYS[1] .. ':rl', child)
end
