import { load } from './.x2.ts';
import { quickPlan } from '../../runtime/plan/plan.ts';
import { improve, improved } from '../../runtime/plan/improve.ts';
import { leastBytes } from '../../runtime/plan/bound.ts';
import { faults } from '../../runtime/plan/faults.ts';
function cpu(){const u=process.cpuUsage();return (u.user+u.system)/1000}
const mode=process.argv[2]??'cap'; const seed=+(process.argv[3]??1); const max=+(process.argv[4]??20000);
let sum=0, acc:number[]=[0,0,0];
quickPlan(load('A.1048576.csv'));
for(const k of process.argv[5]??'ABCDEFGHIJK'){ const b=load(k+'.1048576.csv'); const lb=leastBytes(b);
 if(mode==='cap'){ const t=cpu(); const r=improved(b,quickPlan(b),{now:cpu,until:t+max},{capacity:+(process.argv[6]??1048576),seed}); const dt=cpu()-t; sum+=dt; console.log(k,r.plan.bytes<=1048576,(dt).toFixed(0)+'ms',faults(b,r.plan.offsets,r.plan.bytes).length); }
 else { const t=cpu(); const marks=[100,1000,10000]; const out:string[]=[]; let i=0; let last:any; const q=quickPlan(b); const tq=cpu()-t;
  for(const st of improve(b,q,{seed})){ last=st; const e=cpu()-t; while(i<3&&e>=marks[i]!){out.push((st.plan.bytes/lb).toFixed(3)); acc[i]!+=st.plan.bytes/lb/11; i++;} if(e>=max||i===3)break; }
  const e=cpu()-t; while(i<3){out.push((last.plan.bytes/lb).toFixed(3)); acc[i]!+=last.plan.bytes/lb/11; i++;}
  console.log(k,(q.bytes/lb).toFixed(3),tq.toFixed(1)+'ms',out.join(' / '),last.plan.bytes,last.lowerBoundBytes,last.optimal,(e/1000).toFixed(2)+'s',faults(b,last.plan.offsets,last.plan.bytes).length); }
}
console.log(mode,sum.toFixed(0),acc.map(x=>x.toFixed(4)));
