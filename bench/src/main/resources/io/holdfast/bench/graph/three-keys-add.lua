-- A value holds its children: counts each of them up and lists them.
for _, child in ipairs(ARGV) do redis.call('INCR', child .. ':rc') end
redis.call('RPUSH', KEYS[1] .. ':rl', unpack(ARGV))
