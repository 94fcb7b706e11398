/**
 * Codes of the names of all functions that the audit lists, three characters each (recognise.js).
 * Made of src/evalward/guard/harden/intrinsics.toml.
 */
export const NAMES = '(,C(N<(\\{(ir(j3(s8)(q)9E)B])Fl)rh)yh){x*9}*Wg*pb*q,*t;*vX+2<+9[+B3+d.+d7+p4+td+{L,,c,7p,Dh,Dn,T6,nl-..-KB-WA-bI-dr-|x'
  + '.-Y..r.[./6(/hp0-d04406(06G0@p0P90Ty0X50ZR0`_0qP0q_0tO1+I1.515z17G1o*1wg1zD2)`28j2=m2MS2_62ce3)D3+53.|3BH3EB3IY3Qn3g5'
  + '3h63y\\4854:[4?d4A?4Fd4QL4]64vM4xL5,_5Ku5SN5hR5vI5xn6*q63S64;6=f6kN6n56|A78Q7;R7Dy7Jf7Jr7\\/7_57qE7t58-k8H+8J78Ms8O(8V:'
  + '8Vt8Wd8_O8p+8qh9-T97(98n9E?9Q(9YB9`\\9wD:2:::>:Oh:T\\:c=:e{:p0:p6:}|;0<;Cn;]i;cE;mp;qY<-G<0S<;3<<7<>^<C><Hw<Qx<UV<]B<`p'
  + '<iD<pV<zO=-l=2o=8J>@/>Df>I?>^E>}w?(J?.8?2/?4m?<K?IW?MX?R{?eW?gD?jm?kL?qx?vC?xu?y-@<s@>i@Z6@\\w@eq@h8@kb@nBAM`A]GAv;Axa'
  + 'B+^B/iB1(B>/BL/BTqBs;C<dC?ICAoCL(CcmD/6D4{D]xDh?DpkEC1EQ(ETME^iE`AEgQEg`ErFEu;E{/F4fFOnFvGF{}GY;GuaGw/HDEHN7HURHW0HWu'
  + 'HZ6He@H{4I59I=*IWDIl[Iu<JCvJpkJwoK/4KL|KObKVDK]VKj{KycL,[L-DL5(L;`LEvLJMLLDLcaM*}M/NM5(M9KMB8M^/MtyM|?N;INA4N]/Na]NkA'
  + 'Nr;Nx5NzROH<OHYOJqOOJOayP24P?6PK/PQ>PW=PXfP]zPvaQ(NQ,}Q5(QCNQF*QJ5QKeQP8QR7Qe8R-ZRJIRj*RrbRutS)dS@<SUtSW}S[iTK0TLDTpM'
  + 'U0aUAIUBWUBkUSGUS{V<kVB|VN7VZEVcXW,VW0tW5(WDNWIfWSrW`JX5(X6TX;DXP^XW:XWtXgeXrcX}EY5(Y<@YdMYiFYwoZ(EZ*5Z5(Z?DZVhZf3Zj6'
  + 'Z}xZ}y[5([P[[P^[jO[mh[qv[uU\\07\\2h\\3X\\5(\\AY\\N^\\mB\\u3\\u[]1P]5(]7y]>v]E5]N.]c1^1X^5(^@i^[M^j(^p3^qM^rZ_*y_5(_<k_YY_^^_dM'
  + '_iV_{x`1P`1n`IV`L[`M-`Mz`R,`cu`oL`tma+Fa.Ja1fa8;a9CaByaK0aK6b4zb>Jb@hbD*bO^bWybn^c4Yc5<cJTcT<cWTc[UctadJddL2dU@dpne6U'
  + 'e<{eHveW7enteq+exYe{Lf5bf64f6MfNEfO|fU(fVaf^Vfn5g.5gGlgJugKSgV+gX7gsmhJ`hU3hW,h`ghaqhzRiL.iQWiRIie-ip`jPgjQLj\\/jnijp3'
  + 'k=DkT\\kk|l,BlG9lJrlW4l]olhNlr,lx0m=:m@CmUgmh6moPmolmw)n1_n22nH7nK5nXgnZvnjonsNo0Jo3CoB<o}kp-up64pFdpGAp\\5pnGpoUq*7q5k'
  + 'qCmqY7qY9rs:rwFs7cs;[s?5sBZsOzsbqsy7t20t<FtB-tC9tJ3u/ruKfu[Quf@u}JvKqvU/vi6viVw9UwJ6wlYwnvx(ox*7x,Rx8ExLjxaqxfnxh>yfC'
  + 'yo:ywqz+1z9fzIXz`:zir{/0{1/{<:{AV{Fz{J>{`a{oZ{tn|+3|.5|6x|8[|DW|`m|d)}*F}<F}CZ}eB}h\\}qc}rz}uI';

/** Codes of those that the global object has. */
export const GLOBALS = '(,C(\\{(ir)B]+p4-dr0X517G2)`4Fd4vM5hR78Q9-T98n:e{;]i<;3<iD<pV?2/?eW?vC?y-@>iA]GCAoDh?ETMHURH{4JCvK]VM/NNkAOH<OJqOayWDN'
  + 'Z(EZVhZ}x]7y_<kbn^cWTdL2entfVaf^VgGlhaqjnilW4lhNp64pnGqY7s?5u}Jx8Exh>yfCywqz+1zir{oZ|8[|`m}rz';
