-- Drops the holders whose lease is gone from a record, and says whether anybody is left.
-- A record is  EPOCH(16 digits) UNFINISHED(1 digit) ,LEASE,LEASE…  and the thing is filed under the first lease.
local function living(things, record)
  local leases = {}
  for lease in string.gmatch(string.sub(record, 18), ',[^,]+') do
    leases[#leases + 1] = lease
  end
  local left = {string.sub(record, 1, 17)}
  if leases[1] then
    local alive = redis.call('HMGET', things, unpack(leases))
    for i = 1, #leases do
      if alive[i] then
        left[#left + 1] = leases[i]
      end
    end
  end
  return table.concat(left), left[2]
end
